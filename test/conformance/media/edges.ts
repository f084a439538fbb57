import { expect } from '@jest/globals';
import { type JsonSchema, listEdges } from '../../support/openapi/listEdges.ts';
import { readDocument } from '../../support/openapi/readDocument.ts';
import { aCaller, anImage, aRecording, aSpeech, aVideo } from '../support/mediaCalls.ts';
import { row } from '../support/row.ts';
import { PNG } from '../support/shapes.ts';

const SIDE_BY_SIDE = 4;
const OPERATIONS: { path: string; schema: string; base: () => object }[] = [
  { path: '/images/generations', schema: 'ImageRequest', base: anImage },
  { path: '/videos', schema: 'VideoRequest', base: aVideo },
  { path: '/audio/speech', schema: 'SpeechRequest', base: aSpeech },
  { path: '/audio/transcriptions', schema: 'TranscriptionRequest', base: aRecording },
  { path: '/audio/translations', schema: 'TranslationRequest', base: aRecording },
];

/** The body with another value of a field: in a form a list is a field that comes several times. */
function withField(base: object, field: string, value: unknown): object {
  if (!(base instanceof FormData)) return { ...base, [field]: value };
  const name = Array.isArray(value) ? `${field}[]` : field;
  base.delete(name);
  for (const each of [value].flat()) base.append(name, String(each));
  return base;
}

row('media.422.edges', async () => {
  const { components } = readDocument() as unknown as { components: { schemas: Record<string, JsonSchema> } };
  const caller = await aCaller({ rpm: 100_000 });
  const cases = OPERATIONS.flatMap(({ path, schema, base }) =>
    listEdges(schema, components.schemas, { samples: { image_url: PNG }, skipped: ['model', 'file'] })
      .filter(({ isAllowed }) => !isAllowed)
      .map((edge) => ({ ...edge, path, base })),
  );
  expect(cases.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  const sendRest = async (): Promise<void> => {
    for (let next = cases.pop(); next; next = cases.pop()) {
      const { path, base, field, value, place, bound } = next;
      const { status, body } = await caller.post(path, withField(base(), field, value));
      const { param = '', message = '' } = body as { param?: string; message?: string };
      const isRight =
        status === 422 && param.startsWith(field) && (bound === undefined || message.includes(String(bound)));
      if (!isRight) wrong.push(`${path} ${place} ${String(value).slice(0, 40)}: ${status} ${param} ${message}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, sendRest));
  expect(wrong).toEqual([]);
});
