import { measureCost } from '../measureCost.ts';
import { compareOurs, inRounds, partOf, printParts, toFigure, toRatio, totalOf } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const order = { kind: 'closed', connections: 32, seconds: 0.8, rate: 0, withinMs: 0 } as const;

/** Processor time of a whole short answer: 1 KiB in, 600 bytes out, 32 connections. */
export const wholeAnswers: Scenario = {
  name: 'whole',
  hasPeers: true,
  async run(targets, { rounds: count, progress }) {
    const { nginx, nginxTwice, pipes, router, edge, portkey, litellm } = targets;
    const request = toChatRequest();
    const all = [nginx, nginxTwice, pipes, router, edge, portkey, litellm];
    const rounds = await inRounds(count, all, async (target, round) => {
      progress(`whole answers, round ${round + 1} of ${count}: ${target.name}`);
      return (await measureCost(targets, { target, request, order })).perCall;
    });
    printParts('processor time of a whole answer, µs', rounds);
    const inUs = (name: string, limits: { atMost?: number }, read: () => number[], floor?: () => number[]) =>
      toFigure(`whole answer: ${name}`, { unit: 'µs', ...limits }, read, floor);
    const limits = { router: 8, both: 15, Portkey: 0.3, LiteLLM: 0.02 };
    return [
      toRatio('whole answer: nginx twice ÷ nginx', { rounds, divisor: nginx }, () => totalOf(rounds, nginxTwice)),
      ...compareOurs('whole answer', rounds, targets, limits),
      inUs(
        'the whole fleet',
        { atMost: 300 },
        () => totalOf(rounds, edge),
        () => totalOf(rounds, pipes),
      ),
      inUs('of that the ledger', { atMost: 25 }, () => partOf(rounds, edge, 'ledger')),
      inUs('of that Redis', {}, () => partOf(rounds, edge, 'redis')),
      inUs('of that Postgres', {}, () => partOf(rounds, edge, 'postgres')),
    ];
  },
};
