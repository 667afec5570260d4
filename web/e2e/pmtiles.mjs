// Writes small PMTiles archives, version 3: a header of 127 bytes, one directory, no compression.
// https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md

import { deflateSync, crc32 } from "node:zlib";

const headerLength = 127;

/** The whole world as one tile at zoom 0, of type 1 (vector) or 2 (PNG). */
export function archive(type, tile, metadata = {}) {
  const directory = Buffer.from([1, 0, 1, ...varint(tile.length), 1]); // one entry: id 0, run 1, length, offset 0
  const json = Buffer.from(JSON.stringify(metadata));
  const header = Buffer.alloc(headerLength);
  header.write("PMTiles");
  header[7] = 3;
  let at = headerLength;
  for (const [place, part] of [[8, directory], [24, json], [40, Buffer.alloc(0)], [56, tile]]) {
    header.writeBigUInt64LE(BigInt(at), place);
    header.writeBigUInt64LE(BigInt(part.length), place + 8);
    at += part.length;
  }
  for (const place of [72, 80, 88]) header.writeBigUInt64LE(1n, place);
  header[96] = header[97] = header[98] = 1;
  header[99] = type;
  header.writeInt32LE(-180e7, 102);
  header.writeInt32LE(-85e7, 106);
  header.writeInt32LE(180e7, 110);
  header.writeInt32LE(85e7, 114);
  return Buffer.concat([header, directory, json, tile]);
}

/** A vector tile 2.1: for each layer the rings of a polygon in 4096ths of the tile, and a property kind. */
export function vectorTile(layers) {
  return Buffer.concat(layers.map(({ name, kind, line = false, points }) => {
    const geometry = [9, zigzag(points[0][0]), zigzag(points[0][1]), ((points.length - 1) << 3) | 2];
    for (let i = 1; i < points.length; i++) geometry.push(zigzag(points[i][0] - points[i - 1][0]), zigzag(points[i][1] - points[i - 1][1]));
    if (!line) geometry.push(15);
    const feature = Buffer.concat([bytes(2, Buffer.from([0, 0])), number(3, line ? 2 : 3), bytes(4, Buffer.from(geometry.flatMap(varint)))]);
    const layer = [number(15, 2), bytes(1, Buffer.from(name)), bytes(2, feature), bytes(3, Buffer.from("kind")), bytes(4, bytes(1, Buffer.from(kind))), number(5, 4096)];
    return bytes(3, Buffer.concat(layer));
  }));
}

/** A PNG of 256 pixels in one colour. */
export function png([r, g, b]) {
  const side = 256;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head[8] = 8;
  head[9] = 2;
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(side * 3, Buffer.from([r, g, b]))]);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const pixels = deflateSync(Buffer.concat(Array.from({ length: side }, () => row)));
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

function varint(n) {
  const list = [];
  for (; n > 127; n = Math.floor(n / 128)) list.push((n % 128) | 128);
  return [...list, n];
}

function zigzag(n) {
  return n < 0 ? -2 * n - 1 : 2 * n;
}

function number(field, value) {
  return Buffer.from([...varint(field << 3), ...varint(value)]);
}

function bytes(field, content) {
  return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(content.length)]), content]);
}
