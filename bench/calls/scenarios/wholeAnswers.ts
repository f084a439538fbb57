import { divideRounds } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { edgeAndRouterOf, inRounds, partOf, printParts, toFigure, totalOf } from '../rounds.ts';
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
      const { costs, calls } = await measureCost(targets, { target, request, order });
      return Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / calls]));
    });
    printParts('processor time of a whole answer, µs', rounds);
    const ours = () => edgeAndRouterOf(rounds, edge);
    const onePipe = () => partOf(rounds, pipes, 'pipe');
    const bothPipes = () => totalOf(rounds, pipes);
    const ratio = (
      name: string,
      atMost: number | undefined,
      [dividend, divisor]: [() => number[], typeof nginx],
      floor?: () => number[],
    ) => {
      const over = (read: () => number[]) => () => divideRounds(read(), totalOf(rounds, divisor));
      const limits = atMost === undefined ? {} : { atMost };
      return toFigure(`whole answer: ${name}`, limits, over(dividend), floor && over(floor));
    };
    const inUs = (name: string, limits: { atMost?: number }, read: () => number[], floor?: () => number[]) =>
      toFigure(`whole answer: ${name}`, { unit: 'µs', ...limits }, read, floor);
    return [
      ratio('nginx twice ÷ nginx', undefined, [() => totalOf(rounds, nginxTwice), nginx]),
      ratio('router ÷ nginx', 8, [() => partOf(rounds, router, 'router'), nginx], onePipe),
      ratio('edge + router ÷ nginx', 15, [ours, nginx], bothPipes),
      ...(portkey ? [ratio('edge + router ÷ Portkey', 0.3, [ours, portkey], bothPipes)] : []),
      ...(litellm ? [ratio('edge + router ÷ LiteLLM', 0.02, [ours, litellm], bothPipes)] : []),
      inUs('the whole fleet', { atMost: 300 }, () => totalOf(rounds, edge), bothPipes),
      inUs('of that the ledger', { atMost: 25 }, () => partOf(rounds, edge, 'ledger')),
      inUs('of that Redis', {}, () => partOf(rounds, edge, 'redis')),
      inUs('of that Postgres', {}, () => partOf(rounds, edge, 'postgres')),
    ];
  },
};
