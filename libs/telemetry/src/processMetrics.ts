import type { Meter } from '@opentelemetry/api';

const MICROSECONDS = 1e6;
const MILLISECONDS = 1e3;

/** What a process costs: memory, processor time, and how much of the time its one thread was busy. */
export function observeProcess(meter: Meter): void {
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
}
