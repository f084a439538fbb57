import { z } from 'zod';
import { asJob, endUser, mediaModel, mediaPrompt, mediaSize } from './mediaFields.ts';
import { ignored, optional } from './requestFields.ts';

/** `POST /v1/images/generations`. */
export const imageRequestSchema = z
  .strictObject({
    model: mediaModel,
    prompt: mediaPrompt,
    n: optional(z.int().min(1).max(10)).meta({
      description: 'Number of images, 1 by default; at most the model’s `capabilities.max_images`.',
    }),
    size: mediaSize,
    output_format: optional(z.enum(['png', 'jpeg', 'webp'])).meta({
      description: 'One of the model’s `capabilities.output_formats`; unless given, `png` or the first of them.',
    }),
    output_compression: optional(z.int().min(0).max(100)).meta({
      description: 'Quality of `jpeg` and `webp`, 0 to 100.',
    }),
    response_format: optional(z.enum(['b64_json', 'url'])).meta({
      description:
        '`b64_json` (default): the response has the images. `url`: it has URLs of this API, which need the same key.',
    }),
    quality: optional(z.enum(['auto', 'standard', 'hd', 'low', 'medium', 'high'])).meta({
      description: 'Ignored by models that have only one.',
    }),
    style: optional(z.enum(['vivid', 'natural'])).meta({ description: 'Ignored by models that have only one.' }),
    background: optional(z.enum(['auto', 'opaque', 'transparent'])).meta({
      description: 'Ignored by models that have only one.',
    }),
    moderation: ignored('Models go by what they were made with.'),
    stream: optional(z.boolean()).meta({
      description: 'The answer comes as server-sent events: one for each image, when it is done.',
      support: 'partial',
      note: 'One event for each finished image.',
    }),
    partial_images: optional(z.literal(0, 'must be 0: no model shows images before they are done')).meta({
      description: 'Not supported: no model shows images before they are done.',
      support: 'no',
      note: 'Only 0 is accepted; more is 422.',
    }),
    async: asJob,
    user: endUser,
  })
  .meta({ title: 'Image request', description: 'Images to be made. A field that does not stand here is refused.' });
