import { expect, it } from '@jest/globals';
import { imageRequestSchema } from './imageRequest.ts';
import { speechRequestSchema } from './speechRequest.ts';
import { transcriptionFieldsSchema, translationFieldsSchema } from './transcriptionRequest.ts';
import { videoRequestSchema } from './videoRequest.ts';

const PROMPT = { model: 'm', prompt: 'a cat' };
const REQUESTS = [
  { name: 'image', schema: imageRequestSchema, required: PROMPT },
  { name: 'speech', schema: speechRequestSchema, required: { model: 'm', input: 'hi', voice: 'ada' } },
  { name: 'video', schema: videoRequestSchema, required: PROMPT },
  { name: 'transcription', schema: transcriptionFieldsSchema, required: { model: 'm' } },
  { name: 'translation', schema: translationFieldsSchema, required: { model: 'm' } },
];
const OPTIONAL_FIELDS = REQUESTS.flatMap(({ name, schema, required }) =>
  Object.keys(schema.shape)
    .filter((field) => !(field in required))
    .map((field) => ({ name, field, schema, required })),
);

it.each(OPTIONAL_FIELDS)(
  'takes null for the absence of $field in a request for $name',
  ({ field, schema, required }) => {
    expect(schema.safeParse({ ...required, [field]: null }).success).toBe(true);
  },
);

it.each(REQUESTS)('names an unknown field of a request for $name', ({ schema, required }) => {
  const { error } = schema.safeParse({ ...required, safety_identifier: 'u1' });
  expect(error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['safety_identifier'] }]);
});
