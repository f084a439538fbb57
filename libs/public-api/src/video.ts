import { z } from 'zod';
import { jobFields } from './mediaJob.ts';

/** A job of a video, as the convention has it, with `queue_position` and `usage`. */
export const videoSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('video'),
    ...jobFields,
    prompt: z.string().nullable(),
    seconds: z.string().meta({ description: 'The requested length. The output, which is charged, is in `usage`.' }),
    size: z.string(),
    remixed_from_video_id: z.null(),
  })
  .meta({ title: 'Video', description: 'A clip, or the job that makes it; kept for 24 hours after its end.' });

/** `GET /v1/videos`. */
export const videoListSchema = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(videoSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable().meta({ description: 'The value of `after` for the next page.' }),
    has_more: z.boolean(),
  })
  .meta({ title: 'Video list', description: 'The key’s own videos, the newest first unless `order` says otherwise.' });

export type Video = z.infer<typeof videoSchema>;
export type VideoList = z.infer<typeof videoListSchema>;
