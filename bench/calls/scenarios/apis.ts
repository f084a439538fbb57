import { divideRounds } from '../../figure.ts';
import { divideParts, measureCost } from '../measureCost.ts';
import { edgeAndRouterOf, inRounds, printParts, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import { CHAT_APIS, type ChatApi, toStreamRequest } from '../wire.ts';

const CASES = [
  { name: 'paced', tokens: 100, everyMs: 20, connections: 240 },
  { name: 'unpaced', tokens: 500, everyMs: 0, connections: 40 },
] as const;
const WARM_UPS = 2;

/**
 * Processor time of a streamed chunk by each API for chats, with the call that it belongs to. A chunk is a token
 * of the engine: the APIs write different numbers of events at a stream's beginning and end.
 */
export const apis: Scenario = {
  name: 'apis',
  async run(targets, { rounds: count, progress }) {
    const { engine, edge } = targets;
    /** The same target for each API, by whose name it goes here. */
    const targetOf: Record<ChatApi, Target> = {
      chat: { ...edge, name: 'chat' },
      responses: { ...edge, name: 'responses' },
      messages: { ...edge, name: 'messages' },
    };
    const figures = [];
    for (const { name, tokens, everyMs, connections } of CASES) {
      const order = { kind: 'once', connections, seconds: 0, rate: 0, withinMs: 400 } as const;
      await engine.ask({ tokens, everyMs });
      const send = async (api: ChatApi): Promise<Record<string, number>> => {
        const request = toStreamRequest(api);
        const { perCall } = await measureCost(targets, { target: targetOf[api], request, order });
        return divideParts(perCall, tokens);
      };
      progress(`${name} chunks by each API, warming up`);
      for (let turn = 0; turn < WARM_UPS; turn += 1)
        for (const api of CHAT_APIS) await send(api).catch(() => undefined);
      const rounds = await inRounds(count, Object.values(targetOf), async (target, round) => {
        progress(`${name} chunks, round ${round + 1} of ${count}: ${target.name}`);
        return send(target.name as ChatApi);
      });
      printParts(`processor time of a chunk by each API, ${name}, µs`, rounds, 2);
      const ofApi = (api: ChatApi) => edgeAndRouterOf(rounds, targetOf[api]);
      for (const api of CHAT_APIS.filter((each) => each !== 'chat'))
        figures.push(
          toFigure(`${name} chunk, edge + router: by ${api} ÷ by chat`, { atMost: 1.6 }, () =>
            divideRounds(ofApi(api), ofApi('chat')),
          ),
        );
    }
    return figures;
  },
};
