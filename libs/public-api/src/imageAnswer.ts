import { z } from 'zod';
import { mediaUsageSchema } from './mediaJob.ts';

const base64 = z.string().meta({ contentEncoding: 'base64', description: 'The image’s bytes.' });
const created = z.int().min(0);
const outputFormat = z.enum(['png', 'jpeg', 'webp']);

/** `POST /v1/images/generations`. */
export const imageAnswerSchema = z
  .strictObject({
    created,
    size: z.string(),
    output_format: outputFormat,
    data: z.array(
      z.strictObject({
        b64_json: base64.optional(),
        url: z.url().optional().meta({ description: 'With `response_format` `url`; it needs the same key.' }),
      }),
    ),
    usage: mediaUsageSchema,
  })
  .meta({ title: 'Images', description: 'The images, in one of the two forms.' });

/** An event of `stream: true`. */
export const imageEventSchema = z
  .strictObject({
    type: z.literal('image_generation.completed'),
    created_at: created,
    size: z.string(),
    output_format: outputFormat,
    b64_json: base64,
    usage: mediaUsageSchema.optional().meta({ description: 'On the last one, of all.' }),
  })
  .meta({ title: 'Image event', description: 'One image of a stream.' });

export type ImageAnswer = z.infer<typeof imageAnswerSchema>;
export type ImageEvent = z.infer<typeof imageEventSchema>;
