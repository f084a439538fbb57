import { divideRounds } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { inRounds, printParts, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const SECONDS = 2;
const order = { kind: 'closed', connections: 32, seconds: SECONDS, rate: 0, withinMs: 0 } as const;

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
      const { costs, calls } = await measureCost(targets, { target, request, order });
      return Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / calls]));
    });
    printParts('processor time of a whole answer, µs', rounds);
    const total = (target: typeof nginx) => rounds.of(target).map(sumOf);
    const part = (target: typeof nginx, name: string) => rounds.of(target).map((parts) => parts[name] ?? Number.NaN);
    const ofEdgeAndRouter = () => rounds.of(edge).map((parts) => (parts.edge ?? 0) + (parts.router ?? 0));
    const ratio = (name: string, atMost: number | undefined, dividend: () => number[], divisor: () => number[]) =>
      toFigure(`whole answer: ${name}`, atMost === undefined ? {} : { atMost }, () =>
        divideRounds(dividend(), divisor()),
      );
    const ofNginx = () => total(nginx);
    const inUs = (atMost: number | undefined) => ({ unit: 'µs', ...(atMost !== undefined && { atMost }) });
    return [
      ratio('nginx twice ÷ nginx', undefined, () => total(nginxTwice), ofNginx),
      ratio('bare Node pipe twice ÷ nginx', undefined, () => total(pipes), ofNginx),
      ratio('router ÷ nginx', 8, () => part(router, 'router'), ofNginx),
      ratio('edge + router ÷ nginx', 15, ofEdgeAndRouter, ofNginx),
      ...(portkey ? [ratio('edge + router ÷ Portkey', 0.3, ofEdgeAndRouter, () => total(portkey))] : []),
      ...(litellm ? [ratio('edge + router ÷ LiteLLM', 0.02, ofEdgeAndRouter, () => total(litellm))] : []),
      toFigure('whole answer: the whole fleet', inUs(300), () => total(edge)),
      toFigure('whole answer: of that the ledger', inUs(25), () => part(edge, 'ledger')),
      toFigure('whole answer: of that Redis', inUs(undefined), () => part(edge, 'redis')),
      toFigure('whole answer: of that Postgres', inUs(undefined), () => part(edge, 'postgres')),
    ];
  },
};
