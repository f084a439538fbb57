import { z } from 'zod';
import { mediaModel, mediaPrompt, mediaSize } from './mediaFields.ts';
import { optional } from './requestFields.ts';

const NOT_SECONDS = 'must be a whole number of seconds from 1 to 9999';

const imageAddress = z.string().min(1).meta({
  description: 'A public http(s) URL on the default port, or a base64 data URL.',
});

/** `POST /v1/videos`, as JSON or as a form, in which `input_reference` may be a file. */
export const videoRequestSchema = z
  .strictObject({
    model: mediaModel,
    prompt: mediaPrompt,
    seconds: optional(
      z
        .union([z.string().regex(/^[1-9]\d{0,3}$/, NOT_SECONDS), z.int(NOT_SECONDS).min(1).max(9_999)], NOT_SECONDS)
        .transform(Number),
    ).meta({
      description:
        'Length of the video, as text or number: one of the model’s `capabilities.seconds`, by default the first.',
    }),
    size: mediaSize,
    input_reference: optional(
      z.union(
        [imageAddress, z.strictObject({ image_url: imageAddress })],
        'must be a file, an address or {"image_url": "…"}',
      ),
    ).meta({
      description:
        'An image to begin with, on models that take one: a PNG, JPEG, WebP or GIF of at most 50 megapixels; in a form, a file.',
      support: 'partial',
      note: 'On models that take one.',
    }),
  })
  .meta({ title: 'Video request', description: 'A clip to be made. A field that does not stand here is refused.' });
