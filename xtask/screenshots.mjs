// Takes the pictures of the inspector that the README shows, of the run that the caller has made (src/screenshots.rs).

import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { check, eventually, journey } from "../crates/cli/tests/it/browser/support.mjs";

const { PICTURES_FOLDER: folder, PICTURES_RUN: root } = process.env;
const MOST_BYTES = 250_000;
const COLOURS = 256;

/** The picture with the colours that are most of it, each pixel in the nearest: a third of the bytes, and nobody sees it. */
async function small(png, page) {
  const { width, height, pixels } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let at = 0; at < data.length; at += 1 << 15) text += String.fromCharCode(...data.subarray(at, at + (1 << 15)));
    return { width: image.width, height: image.height, pixels: btoa(text) };
  }, png.toString("base64"));
  const data = Buffer.from(pixels, "base64");
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = data.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, COLOURS).map(([colour]) => parts(colour));
  const nearest = new Map();
  for (const colour of counts.keys()) {
    const [r, g, b] = parts(colour);
    const far = palette.map(([x, y, z]) => (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2);
    nearest.set(colour, far.indexOf(Math.min(...far)));
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = nearest.get(data.readUIntBE((y * width + x) * 4, 3));
  }
  const chunk = (kind, body) => {
    const named = Buffer.concat([Buffer.from(kind), body]);
    const framed = Buffer.alloc(named.length + 8);
    framed.writeUInt32BE(body.length, 0);
    named.copy(framed, 4);
    framed.writeUInt32BE(crc32(named), named.length + 4);
    return framed;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of a palette for each pixel.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", header), chunk("PLTE", Buffer.from(palette.flat())),
    chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}

await journey(async ({ part, visitor, guest }) => {
  const desk = await guest();
  for (const colorScheme of ["light", "dark"]) {
    const page = await visitor("research", { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1, colorScheme });
    /** Keeps the page in front as a picture, without a caret or a focus. */
    const keep = (name) => part(`${name}, ${colorScheme}`, async () => {
      const path = `${folder}/${name}-${colorScheme}.png`;
      await page.evaluate(() => document.fonts.ready);
      const picture = await small(await page.screenshot({ animations: "disabled", caret: "hide" }), desk);
      check(picture.length <= MOST_BYTES, `${path} has ${picture.length} bytes, and ${MOST_BYTES} are the most`);
      writeFileSync(path, picture);
    });
    const follow = async (locator) => {
      const href = await locator.first().getAttribute("href");
      await page.goto(new URL(href, page.url()).href);
    };
    await page.goto(`/inspect/p/research/runs/${root}`);
    await follow(page.getByRole("link", { name: "searcher_tables", exact: true }));
    const run = page.url();
    await keep("run");
    await follow(page.getByRole("link", { name: "why?" }));
    await keep("why");
    await page.goto(run);
    await follow(page.getByRole("link", { name: "Compare with its sender" }));
    await keep("sides");
    // The last call of the principal has calls before it, and what others answered.
    await page.goto(run);
    await follow(page.getByRole("link", { name: "call 3", exact: true }));
    const call = page.url();
    await follow(page.locator('a[href*="tab=bytes"]'));
    const answers = page.locator(".bytes a[href]", { hasText: "task_index" });
    await page.goto(new URL(await answers.first().getAttribute("href"), call).href);
    await keep("call");
    await page.goto(`/inspect/p/research/cost?by=agent&subtree=${root}`);
    await eventually("the sums are there", () => page.locator("tbody tr").count());
    await keep("cost");
    await page.context().close();
  }
});
