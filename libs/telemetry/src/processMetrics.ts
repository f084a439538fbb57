import type { Meter } from '@opentelemetry/api';
import { watchEventLoop } from './eventLoopWatch.ts';

const MICROSECONDS = 1e6;
const MILLISECONDS = 1e3;

/** Measures which build the process runs. */
export function observeBuild(meter: Meter, build: { version: string; revision: string }): void {
  meter
    .createObservableGauge('turnpike_build_info', {
      description: 'Always 1; the version and commit of the program are its labels.',
    })
    .addCallback((result) => result.observe(1, build));
}

/**
 * Measures the process: memory, processor time, the utilization of its event loop, and the loop's longest blocks. Returns
 * the function that stops it.
 */
export function observeProcess(meter: Meter): () => void {
  meter
    .createObservableGauge('process_resident_memory_bytes', { description: 'Memory the process holds.' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableCounter('process_cpu_seconds_total', { description: 'Processor time, all threads.' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe((user + system) / MICROSECONDS);
    });
  meter
    .createObservableCounter('turnpike_event_loop_busy_seconds_total', {
      description: 'Time the event loop was not idle; its rate nears 1 when the process is at its end.',
    })
    .addCallback((result) => result.observe(performance.eventLoopUtilization().active / MILLISECONDS));
  const late = meter.createObservableGauge('turnpike_event_loop_late_seconds', {
    description: 'Longest that a due timer waited since the last scrape.',
  });
  const blocked = meter.createObservableGauge('turnpike_event_loop_blocked_seconds', {
    description: 'Longest that the thread computed between two turns of the event loop since the last scrape.',
  });
  const watch = watchEventLoop();
  meter.addBatchObservableCallback(
    (result) => {
      const delays = watch.take();
      result.observe(late, delays.late);
      result.observe(blocked, delays.blocked);
    },
    [late, blocked],
  );
  return watch.stop;
}
