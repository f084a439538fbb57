import { afterAll, beforeAll } from '@jest/globals';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { type Client, createClient } from './http.ts';
import { type RecordingEngine, startRecordingEngine } from './startRecordingEngine.ts';
import { MODEL_WITHOUT_CACHE, writeCatalogFile } from './writeCatalogFile.ts';

export const MODEL = 'llama-3.3-70b-instruct';
/** Knows neither tools nor schemas. */
export const PLAIN_MODEL = 'deepseek-r1-0528';
export const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
export const EMBEDDING_MODEL = 'bge-m3';
/** Cleared for us alone. */
export const US_MODEL = 'gemma-3-27b-it';
export const SERVED_MODELS = [MODEL, PLAIN_MODEL, VISION_MODEL, EMBEDDING_MODEL, US_MODEL, MODEL_WITHOUT_CACHE];

/** Keeps what the one stack's engine is sent. */
export let engine: RecordingEngine;
/** The one stack, of region us, of all rows that look at what an engine is sent, or say what it answers. */
export let stack: TestStack;
/** A client with the key that the stack was seeded with. */
export let client: Client;

beforeAll(async () => {
  engine = await startRecordingEngine(SERVED_MODELS);
  stack = await startTestStack({
    kafka: false,
    engines: [engine.url],
    serviceSettings: { catalog: { CATALOG_FILE: await writeCatalogFile() } },
  });
  client = createClient(stack.baseUrl, stack.apiKey);
});
afterAll(async () => {
  await stack?.stop();
  await engine?.stop();
});
