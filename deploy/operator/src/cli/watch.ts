import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Option, Report } from './command.ts';

const REDRAW_MS = 1_000;

export const WATCH: Record<'watch', Option> = {
  watch: { help: 'go on showing it anew, every second, where the output is a terminal' },
};

/** Reports once; with `watch`, and at a terminal, again and again in place. */
export async function reportOrWatch(
  report: (context: Context) => Promise<Report>,
  { watch, context }: { watch: boolean; context: Context },
): Promise<Report> {
  while (watch && context.redraw) {
    context.redraw((await report(context)).text);
    await delay(REDRAW_MS);
  }
  return report(context);
}
