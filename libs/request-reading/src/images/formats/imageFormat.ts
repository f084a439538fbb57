/** Width and height in pixels: of the whole picture, and at least those of anything in it. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Texts, colour profiles, notes of cameras and films of phones, all together: engines read some of them. */
export const MAX_BESIDE_BYTES = 8 * 1_048_576;

/** A format of images, as it is recognised and measured. */
export interface ImageFormat {
  mimeType: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif';
  /** Whether the bytes begin as a file of this format does. */
  matches(bytes: Buffer): boolean;
  /**
   * Walks the file by its own lengths, without decoding anything, and gives its size. Undefined unless it is whole, of one
   * piece, and ends where its format says: what is left over would be another file in disguise. Undefined, too, where more than
   * `MAX_BESIDE_BYTES` of it are not the picture, or it has more frames than its format may have here.
   */
  measure(bytes: Buffer): ImageSize | undefined;
}
