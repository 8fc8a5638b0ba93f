// NumPy's default generator, digit by digit: SeedSequence, PCG64, the ziggurat for normals and Lemire's bounded integers.
// So that what is drawn here is what `np.random.default_rng(seed)` draws in the code that "Copy as Python" gives.
import { erfc } from "./special.js";

const MASK32 = 0xffffffffn, MASK64 = (1n << 64n) - 1n, MASK128 = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

/** The pool of NumPy's SeedSequence for a whole number, hashed into 64-bit words. */
function seed_words(seed, count) {
  let constant = 0x43b0d7e5;
  const hash = (value) => {
    let x = (value ^ constant) >>> 0;
    constant = Math.imul(constant, 0x931e8875) >>> 0;
    x = Math.imul(x, constant) >>> 0;
    return (x ^ (x >>> 16)) >>> 0;
  };
  const mix = (x, y) => {
    const z = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
    return (z ^ (z >>> 16)) >>> 0;
  };
  const entropy = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0];
  const pool = [0, 1, 2, 3].map((i) => hash(entropy[i] ?? 0));
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  let outward = 0x8b51f9dd;
  const halves = Array.from({ length: 2 * count }, (_, i) => {
    let x = (pool[i % 4] ^ outward) >>> 0;
    outward = Math.imul(outward, 0x58f38ded) >>> 0;
    x = Math.imul(x, outward) >>> 0;
    return BigInt((x ^ (x >>> 16)) >>> 0);
  });
  return Array.from({ length: count }, (_, i) => halves[2 * i] | (halves[2 * i + 1] << 32n));
}

const R = 3.6541528853610088; // where the ziggurat's tail begins
const ZIGGURAT = ziggurat();

/** The 256 layers of equal area under e^{−x²/2}. */
function ziggurat() {
  const bell = (x) => Math.exp(-0.5 * x * x), unit = 2 ** 52;
  const area = R * bell(R) + Math.sqrt(Math.PI / 2) * erfc(R / Math.SQRT2);
  const width = new Float64Array(256), inside = new Float64Array(256), height = new Float64Array(256);
  width[0] = area / bell(R) / unit;
  inside[0] = Math.floor((R / (area / bell(R))) * unit);
  height[0] = 1;
  width[255] = R / unit;
  height[255] = bell(R);
  let x = R;
  for (let i = 254; i >= 1; i--) {
    const before = x;
    x = Math.sqrt(-2 * Math.log(area / before + bell(before)));
    inside[i + 1] = Math.floor((x / before) * unit);
    height[i] = bell(x);
    width[i] = x / unit;
  }
  return { width, inside, height };
}

/** A stream of random numbers. */
export class Generator {
  /** @param {number} seed a whole number from 0 to 2⁵³ */
  constructor(seed) {
    if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`seed must be a whole number of at least 0; got ${seed}`);
    const [a, b, c, d] = seed_words(seed, 4);
    this.increment = ((((c << 64n) | d) << 1n) | 1n) & MASK128;
    this.state = 0n;
    this.step();
    this.state = (this.state + ((a << 64n) | b)) & MASK128;
    this.step();
    /** @type {number | null} the upper half of a word of which the lower was used */
    this.half = null;
  }

  step() {
    this.state = (this.state * MULTIPLIER + this.increment) & MASK128;
  }

  word() {
    this.step();
    const value = (this.state >> 64n) ^ (this.state & MASK64), turn = this.state >> 122n;
    return ((value >> turn) | (value << (64n - turn))) & MASK64;
  }

  /** In [0, 1). */
  uniform() {
    return Number(this.word() >> 11n) * 2 ** -53;
  }

  /** Standard normal. */
  normal() {
    const { width, inside, height } = ZIGGURAT;
    for (;;) {
      const word = this.word(), layer = Number(word & 0xffn), size = Number((word >> 9n) & 0xfffffffffffffn);
      const sign = (word >> 8n) & 1n ? -1 : 1, x = sign * size * width[layer];
      if (size < inside[layer]) return x;
      if (layer === 0) {
        for (;;) {
          const beyond = (-1 / R) * Math.log1p(-this.uniform()), y = -Math.log1p(-this.uniform());
          if (y + y > beyond * beyond) return (Math.floor(size / 256) & 1 ? -1 : 1) * (R + beyond);
        }
      }
      if ((height[layer - 1] - height[layer]) * this.uniform() + height[layer] < Math.exp(-0.5 * x * x)) return x;
    }
  }

  /** rows × columns standard normals, row by row. */
  normals(rows, columns) {
    return Array.from({ length: rows }, () => Float64Array.from({ length: columns }, () => this.normal()));
  }

  word32() {
    if (this.half !== null) {
      const kept = this.half;
      this.half = null;
      return kept;
    }
    const word = this.word();
    this.half = Number(word >> 32n);
    return Number(word & MASK32);
  }

  /** A whole number from 0 to below `bound`, at most 2³². */
  below(bound) {
    if (bound <= 1) return 0;
    const n = BigInt(bound), least = (0x100000000n - n) % n;
    for (;;) {
      const product = BigInt(this.word32()) * n;
      if ((product & MASK32) >= least) return Number(product >> 32n);
    }
  }
}
