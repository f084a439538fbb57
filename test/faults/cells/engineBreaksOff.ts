import type { Cell } from '../cell.ts';

const KINDS = ['reset_mid_stream', 'close_without_done', 'close_inside_event', 'close_before_usage', 'error_event'];

export const cell: Cell = {
  name: 'engine-breaks-off',
  group: 'engines',
  breaks: 'a third of the answers break off after a drawn number of tokens, in five ways',
  holds: 'each of those ends in an error event, or 500 where it is no stream, and costs nothing',
  eventLog: 'kafka',
  async run(context) {
    context.rules.enginesLie = true;
    const calls = await context.startLoad({
      calls: context.calls,
      tokens: [20, 60],
      directives: (random) => {
        const kind = KINDS[random.between(0, KINDS.length - 1)];
        return random.share() < 1 / 3 ? `fault=${kind} after=${random.between(1, 15)}` : '';
      },
    }).done;
    // A whole answer can be tried on the other engine, and breaks off there as well.
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    context.allowUnknownEndings(calls);
    const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
    context.check(failed > context.calls / 5, `only ${failed} calls broke off`);
  },
};
