// Saves the figure of a section as PNG or PDF, in the colours that the page has now. From disk a page may not read the files
// beside it, so the drawing in the page is taken.
(() => {
  const SCALE = 4; // 288 pixels to the inch, for print

  const source = (svg) => {
    const copy = svg.cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    const colours = getComputedStyle(document.documentElement);
    copy.removeAttribute("style");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const text = new XMLSerializer().serializeToString(copy);
    return text.replace(/var\((--[\w-]+)\)/g, (_, name) => colours.getPropertyValue(name).trim());
  };

  const painted = async (svg) => {
    const { width, height } = svg.viewBox.baseVal;
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source(svg))}`;
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(SCALE * width), Math.round(SCALE * height)];
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return { canvas, width, height };
  };

  const blob = (canvas, type) => new Promise((done) => canvas.toBlob(done, type, 0.96));

  // One page that holds one picture: the least that is a PDF.
  const pdf = async ({ canvas, width, height }) => {
    const jpeg = new Uint8Array(await (await blob(canvas, "image/jpeg")).arrayBuffer());
    const draw = `${width} 0 0 ${height} 0 0 cm /P Do`;
    const objects = [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents 4 0 R /Resources << /XObject << /P 5 0 R >> >> >>`,
      `<< /Length ${draw.length} >>\nstream\n${draw}\nendstream`,
      `<< /Type /XObject /Subtype /Image /Width ${canvas.width} /Height ${canvas.height} /ColorSpace /DeviceRGB`
        + ` /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n`,
    ];
    const parts = ["%PDF-1.4\n"], places = [];
    const size = () => parts.reduce((sum, part) => sum + part.length, 0);
    objects.forEach((text, place) => {
      places.push(size());
      parts.push(`${place + 1} 0 obj\n${text}`);
      if (place === 4) parts.push(jpeg, "\nendstream");
      parts.push("\nendobj\n");
    });
    const begin = size();
    const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
    parts.push(`xref\n0 6\n0000000000 65535 f \n${rows}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${begin}\n%%EOF\n`);
    return new Blob(parts, { type: "application/pdf" });
  };

  const save = async (button) => {
    const picture = await painted(button.closest("figure").querySelector("svg"));
    const content = button.dataset.save === "pdf" ? await pdf(picture) : await blob(picture.canvas, "image/png");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = `${button.dataset.name}.${button.dataset.save}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const button of document.querySelectorAll("button[data-save]")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button));
  }
})();
