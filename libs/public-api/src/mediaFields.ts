import { z } from 'zod';
import { ignored, optional } from './requestFields.ts';

/** Longest prompt of images and videos, in characters. */
const MAX_PROMPT = 4_000;

/** Characters as people and bills count them: code points, not the units that JavaScript keeps them in. */
export function countCharacters(text: string): number {
  let characters = 0;
  for (const _character of text) characters += 1;
  return characters;
}

/** A text of so many characters at most. */
export const textOfAtMost = (maximum: number) =>
  z
    .string()
    // None has more characters than units.
    .refine((text) => text.length <= maximum || countCharacters(text) <= maximum, {
      error: ({ input }) => `must have at most ${maximum} characters, not ${countCharacters(String(input))}`,
    })
    .meta({ maxLength: maximum });

/** The same, with something to be read in it. */
export const spokenTextOfAtMost = (maximum: number) =>
  textOfAtMost(maximum)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ minLength: 1, maxLength: maximum });

/** The fields that several media operations have. */
export const mediaModel = z.string().min(1, 'must name a model').meta({
  description:
    'Id of a model, as `GET /v1/models` lists it; or an alias, its `hugging_face_id` in any case, or `<owner>/<id>`.',
});

export const mediaPrompt = spokenTextOfAtMost(MAX_PROMPT).meta({ description: 'The prompt.' });

export const mediaSize = optional(
  z.string().regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'must be auto or a width and a height, as in 1024x1024'),
).meta({
  description:
    'Width and height in pixels, one of the model’s `capabilities.sizes`; `auto`, or none, is the first of them.',
});

export const asJob = optional(z.boolean()).meta({
  description: 'Answers 202 with a job at once, which is looked up until it is done.',
  note: 'Not in the public API.',
});

export const endUser = ignored('The end user’s id at the client.');
