import type { Readable } from 'node:stream';
import sharp, { type Sharp } from 'sharp';
import type { ImageRequest, Size } from '../terms/mediaRequest.ts';
import { MediaFault } from './mediaFault.ts';
import { createPrivateFile, type PrivateFile, type TakenFile, toTakenFile } from './privateFile.ts';
import type { WorkPool } from './workPool.ts';

/** Format and size that the client asked for. */
export type AskedImage = Pick<ImageRequest, 'outputFormat' | 'outputCompression'> & { size: Size };

const FORMATS = new Set<string>(['png', 'jpeg', 'webp']);
/** Default quality; PNG ignores it. */
const DEFAULT_QUALITY = 100;

// The cache uses file names, which are reused here, and would keep deleted content.
sharp.cache(false);
sharp.concurrency(1);

/**
 * Reads an image to its end, decodes it, and writes the file that clients get, in the requested format and without
 * metadata. Throws `invalid_output` if the image cannot be decoded or has another size.
 */
export async function takeImage(
  source: Readable,
  asked: AskedImage,
  { folder, pool, signal }: { folder: string; pool: WorkPool; signal: AbortSignal },
): Promise<TakenFile> {
  const came = await createPrivateFile(folder);
  try {
    await came.fill(source, signal);
    return await pool.run(() => convert(came, asked, folder), { signal });
  } finally {
    await came.discard();
  }
}

async function convert(came: PrivateFile, asked: AskedImage, folder: string): Promise<TakenFile> {
  const { width, height } = asked.size;
  const image = await createPrivateFile(folder);
  try {
    // The size in the header is checked before a pixel is decoded, and no further pixels are decoded.
    const picture = sharp(came.path, { limitInputPixels: width * height, failOn: 'error' });
    const header = await picture.metadata();
    const isOne = (header.pages ?? 1) === 1;
    if (!FORMATS.has(header.format) || !isOne || header.width !== width || header.height !== height) {
      throw new MediaFault('invalid_output');
    }
    await encode(picture, asked).toFile(image.path);
    return await toTakenFile(image, `image/${asked.outputFormat}`);
  } catch (error) {
    await image.discard();
    throw error instanceof MediaFault ? error : new MediaFault('invalid_output', { cause: error });
  }
}

function encode(picture: Sharp, { outputFormat, outputCompression = DEFAULT_QUALITY }: AskedImage): Sharp {
  const quality = Math.max(outputCompression, 1);
  switch (outputFormat) {
    case 'png':
      return picture.png();
    case 'jpeg':
      return picture.jpeg({ quality });
    case 'webp':
      return picture.webp({ quality });
  }
}
