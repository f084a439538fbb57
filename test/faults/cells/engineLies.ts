import type { Cell } from '../cell.ts';

const KINDS = [
  'no_usage',
  'usage_lower',
  'usage_negative',
  'usage_overflow',
  'invalid_json',
  'missing_choices',
  'early_empty_choices',
  'duplicate_finish',
  'huge_event',
  'abort',
  'unknown_finish',
  'http_500_html',
  'http_200_error',
  'http_429',
  'http_401',
  'wrong_content_type',
  'wrong_content_length',
  'truncated_gzip',
  'trailing_bytes',
  'split_utf8',
  'comments',
  'crlf',
];

export const cell: Cell = {
  name: 'engine-lies',
  group: 'engines',
  breaks: 'half of the answers are not what they should be, in 22 ways',
  holds:
    'clients get what is well-formed or an error; a success has the counts that its client saw, or the row says unknown',
  eventLog: 'embedded',
  async run(context) {
    context.rules.enginesLie = true;
    const calls = await context.startLoad({
      calls: context.calls,
      tokens: [5, 60],
      directives: (random) => (random.share() < 0.5 ? `fault=${KINDS[random.between(0, KINDS.length - 1)]}` : ''),
    }).done;
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    context.allowUnknownEndings(calls);
    context.check((await context.ask('/svc/key')).status === 200, 'the stack does not answer any more');
  },
};
