// Dense linear algebra for small matrices, as arrays of rows of Float64Array. Jacobi's methods: short, and accurate to
// rounding for every singular value on its own.

const EPS = 2 ** -52;
const SWEEPS = 60;

/** @typedef {Float64Array[]} Matrix rows */

/** @returns {Matrix} */
export function zeros(rows, columns) {
  return Array.from({ length: rows }, () => new Float64Array(columns));
}

/** @returns {Matrix} */
export function transpose(A) {
  const T = zeros(A[0].length, A.length);
  for (let i = 0; i < A.length; i++) for (let j = 0; j < A[0].length; j++) T[j][i] = A[i][j];
  return T;
}

/** @returns {Matrix} */
export function multiply(A, B) {
  const C = zeros(A.length, B[0].length);
  for (let i = 0; i < A.length; i++) {
    const c = C[i], a = A[i];
    for (let k = 0; k < B.length; k++) {
      const x = a[k], b = B[k];
      if (x !== 0) for (let j = 0; j < c.length; j++) c[j] += x * b[j];
    }
  }
  return C;
}

/** Entry by entry. @returns {Matrix} */
export function map(A, f) {
  return A.map((row, i) => Float64Array.from(row, (x, j) => f(x, i, j)));
}

/**
 * The sum over all entries of f(entry, i, j).
 * @param {Matrix} A
 * @param {(x: number, i: number, j: number) => number} f
 */
export function total(A, f = (x) => x) {
  let sum = 0;
  for (let i = 0; i < A.length; i++) for (let j = 0; j < A[i].length; j++) sum += f(A[i][j], i, j);
  return sum;
}

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * Singular values, falling, and singular vectors, by one-sided Jacobi rotations: A = U diag(s) Vᵀ, thin.
 * @param {Matrix} A
 * @returns {{U: Matrix, s: Float64Array, V: Matrix}} U (m × r), V (n × r), r = min(m, n)
 */
export function svd(A) {
  if (A.length < A[0].length) {
    const { U, s, V } = svd(transpose(A));
    return { U: V, s, V: U };
  }
  const n = A[0].length, columns = transpose(A), right = zeros(n, n);
  for (let j = 0; j < n; j++) right[j][j] = 1;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let turned = false;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) {
        const alpha = dot(columns[p], columns[p]), beta = dot(columns[q], columns[q]), gamma = dot(columns[p], columns[q]);
        if (Math.abs(gamma) <= EPS * Math.sqrt(alpha * beta) || gamma === 0) continue;
        turned = true;
        const zeta = (beta - alpha) / (2 * gamma);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta)), c = 1 / Math.hypot(1, t);
        rotate(columns[p], columns[q], c, c * t);
        rotate(right[p], right[q], c, c * t);
      }
    }
    if (!turned) break;
  }
  const sizes = columns.map((column) => Math.sqrt(dot(column, column)));
  const order = sizes.map((_, j) => j).sort((i, j) => sizes[j] - sizes[i]);
  const s = Float64Array.from(order, (j) => sizes[j]);
  const left = order.map((j) => columns[j].map((x) => (sizes[j] > 0 ? x / sizes[j] : 0)));
  complete(left, s);
  return { U: transpose(left), s, V: transpose(order.map((j) => right[j])) };
}

function rotate(x, y, c, s) {
  for (let i = 0; i < x.length; i++) {
    const a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

/**
 * Orthonormal columns, and as many more as make a basis.
 * @param {Matrix} U (m × r)
 * @returns {Matrix} (m × m)
 */
export function completed(U) {
  const m = U.length, columns = [...transpose(U), ...zeros(m - U[0].length, m)];
  complete(columns, columns.map((_, j) => (j < U[0].length ? 1 : 0)));
  return transpose(columns);
}

/** Gives vanishing singular values a direction of their own, orthogonal to all others. */
function complete(left, s) {
  for (let j = 0; j < s.length; j++) {
    if (s[j] > 0) continue;
    for (let axis = 0; axis < left[j].length; axis++) {
      const v = new Float64Array(left[j].length);
      v[axis] = 1;
      for (let k = 0; k < s.length; k++) {
        if (k === j || (k > j && s[k] === 0)) continue;
        const along = dot(v, left[k]);
        for (let i = 0; i < v.length; i++) v[i] -= along * left[k][i];
      }
      const size = Math.sqrt(dot(v, v));
      if (size > 0.1) {
        left[j] = v.map((x) => x / size);
        break;
      }
    }
  }
}

/**
 * Eigenvalues, falling, and eigenvectors (columns of V) of a symmetric matrix, by Jacobi's rotations.
 * @param {Matrix} S
 * @returns {{values: Float64Array, V: Matrix}}
 */
export function eigh(S) {
  const n = S.length, A = S.map((row) => row.slice()), vectors = zeros(n, n); // rows of `vectors` are eigenvectors
  for (let j = 0; j < n; j++) vectors[j][j] = 1;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let off = 0, all = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        all += A[i][j] * A[i][j];
        if (i !== j) off += A[i][j] * A[i][j];
      }
    }
    if (off <= 1e-34 * all) break;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) {
        if (A[p][q] === 0) continue;
        const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(1, theta)), c = 1 / Math.hypot(1, t), s = c * t;
        rotate(A[p], A[q], c, s);
        for (let i = 0; i < n; i++) {
          const a = A[i][p], b = A[i][q];
          A[i][p] = c * a - s * b;
          A[i][q] = s * a + c * b;
        }
        A[p][q] = A[q][p] = 0;
        rotate(vectors[p], vectors[q], c, s);
      }
    }
  }
  const order = A.map((_, j) => j).sort((i, j) => A[j][j] - A[i][i]);
  return { values: Float64Array.from(order, (j) => A[j][j]), V: transpose(order.map((j) => vectors[j])) };
}

/**
 * The triangle R of A = QR by Householder's reflections, min(m, n) × n.
 * @param {Matrix} A
 * @returns {Matrix}
 */
export function triangle(A) {
  const R = A.map((row) => row.slice()), m = R.length, n = R[0].length;
  for (let j = 0; j < Math.min(m - 1, n); j++) {
    let size = 0;
    for (let i = j; i < m; i++) size = Math.hypot(size, R[i][j]);
    if (size === 0) continue;
    const lead = R[j][j] >= 0 ? size : -size, v = new Float64Array(m);
    for (let i = j; i < m; i++) v[i] = R[i][j] / lead;
    v[j] += 1;
    const w = new Float64Array(n);
    for (let i = j; i < m; i++) for (let k = j; k < n; k++) w[k] += v[i] * R[i][k];
    for (let i = j; i < m; i++) for (let k = j; k < n; k++) R[i][k] -= (v[i] * w[k]) / v[j];
  }
  const kept = R.slice(0, Math.min(m, n));
  for (let i = 0; i < kept.length; i++) for (let k = 0; k < i; k++) kept[i][k] = 0;
  return kept;
}

/**
 * The largest eigenvalue of a symmetric operator on vectors of length n, by Lanczos' method with full orthogonalisation.
 * @param {(x: Float64Array) => Float64Array} apply
 * @param {Float64Array} begin
 * @returns {number}
 */
export function largest_eigenvalue(apply, begin) {
  const n = begin.length, basis = [], alpha = [], beta = [];
  let q = begin.map((x) => x / Math.sqrt(dot(begin, begin))), last = NaN;
  for (let step = 0; step < Math.min(n, 300); step++) {
    basis.push(q);
    const w = apply(q);
    alpha.push(dot(w, q));
    for (let twice = 0; twice < 2; twice++) {
      for (const b of basis) {
        const along = dot(w, b);
        for (let i = 0; i < n; i++) w[i] -= along * b[i];
      }
    }
    const size = Math.sqrt(dot(w, w)), found = largest_of_tridiagonal(alpha, beta);
    if (size <= 1e-14 * Math.abs(found) || (step > 8 && Math.abs(found - last) <= 1e-15 * Math.abs(found))) return found;
    last = found;
    beta.push(size);
    q = w.map((x) => x / size);
  }
  return largest_of_tridiagonal(alpha, beta.slice(0, alpha.length - 1));
}

/** By bisection on the number of eigenvalues above x (Sturm's sequence). */
function largest_of_tridiagonal(alpha, beta) {
  const n = alpha.length;
  let low = Math.max(...alpha), high = -Infinity;
  for (let i = 0; i < n; i++) high = Math.max(high, alpha[i] + Math.abs(beta[i - 1] ?? 0) + (i < n - 1 ? Math.abs(beta[i]) : 0));
  for (let round = 0; round < 200 && high - low > 2 * EPS * Math.max(Math.abs(low), Math.abs(high)); round++) {
    const x = (low + high) / 2;
    let d = 1, above = false;
    for (let i = 0; i < n && !above; i++) {
      d = alpha[i] - x - (i ? (beta[i - 1] * beta[i - 1]) / (d || EPS * x) : 0);
      above = d > 0;
    }
    if (above) low = x;
    else high = x;
  }
  return (low + high) / 2;
}
