import type { ServerResponse } from 'node:http';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  type CollectionResult,
  InstrumentType,
  type MetricData,
  MetricReader,
} from '@opentelemetry/sdk-metrics';

/**
 * Longest wait for all gauges together, below Prometheus' own. Gauges that ask a dependency give up after 2 s, and on a busy machine up to
 * twice as late.
 */
const COLLECT_TIMEOUT_MS = 6_000;
/**
 * Label sets of one instrument in a process' life, including those of engines that have gone. Further sets are summed
 * under `otel_metric_overflow`.
 */
export const MAX_LABEL_SETS = 1_000;

/** Hands out the metrics whenever they are asked for, in Prometheus' text format. */
export class ScrapeReader extends MetricReader {
  #collecting: Promise<CollectionResult> | undefined;
  readonly #serializer = new PrometheusSerializer(undefined, false, undefined, false, true);

  constructor() {
    super({
      // A gauge reports only the current label sets at each scrape. Cumulative gauges would go on reporting engines
      // that have gone.
      aggregationTemporalitySelector: (type) =>
        type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
      cardinalitySelector: () => MAX_LABEL_SETS,
    });
  }

  /** Answers one scrape, with these metrics beside those of the SDK. */
  async answer(metrics: MetricData[], res: ServerResponse): Promise<void> {
    const { resourceMetrics } = await this.#collectOnce();
    const scopeMetrics = [...resourceMetrics.scopeMetrics, { scope: { name: 'turnpike' }, metrics }];
    res.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    res.end(`${this.#serializer.serialize({ ...resourceMetrics, scopeMetrics }).trimEnd()}\n`);
  }

  /** One for all who scrape meanwhile: of two at once the first would take from the second what its gauges have told. */
  #collectOnce(): Promise<CollectionResult> {
    this.#collecting ??= this.collect({ timeoutMillis: COLLECT_TIMEOUT_MS }).finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}
