import { afterAll, beforeAll } from '@jest/globals';
import { type Collector, startCollector } from '@turnpike/test-support/startCollector';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';

/** The stack of the event log whose tests run: one after the other, as to start one takes longer than most of them. */
export let stack: TestStack;
/** Gets the traces of every call. */
export let collector: Collector;

/** Gives the tests of a `describe` a stack over one event log, which logs all it can. */
export function useStack({ kafka }: { kafka: boolean }): void {
  beforeAll(async () => {
    collector = await startCollector();
    const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACE_SAMPLE_RATIO: '1' };
    stack = await startTestStack({ kafka, observation: { ...tracing, LOG_LEVEL: 'debug' } });
  });
  afterAll(async () => {
    await stack?.stop();
    await collector?.close();
  });
}
