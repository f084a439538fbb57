import { expect, it } from '@jest/globals';
import { nameModels } from './nameModels.ts';

it.each([
  ['Qwen/Qwen2.5-0.5B-Instruct', 'qwen2.5-0.5b-instruct'],
  ['tiny-random-llama', 'tiny-random-llama'],
  ['/models/Llama 3 (chat).gguf/', 'llama-3-chat-.gguf'],
  ['llama3.2:1b', 'llama3.2-1b'],
  ['.hidden', 'hidden'],
  ['模型', 'model'],
  [`org/${'x'.repeat(200)}`, 'x'.repeat(90)],
])('names %s as the catalog would', (servedName, id) => {
  expect(nameModels([servedName])).toEqual(new Map([[servedName, id]]));
});

it('gives each model an id of its own, and one whose name can be an id keeps it', () => {
  expect([...nameModels(['A/model-x', 'B/Model-X', 'model-x', 'model-x-2'])]).toEqual(
    expect.arrayContaining([
      ['model-x', 'model-x'],
      ['model-x-2', 'model-x-2'],
      ['A/model-x', 'model-x-3'],
      ['B/Model-X', 'model-x-4'],
    ]),
  );
});
