/** A router's count of its work on an engine. */
interface CountedEngine {
  id: string;
  open_calls: number;
  tokens_in_flight: number;
}

/** A line for each engine whose room a router still counts calls in, now that all have ended: that room would never be free again. */
export const findBusyEngines = (engines: readonly CountedEngine[]): string[] =>
  engines
    .filter((engine) => engine.open_calls !== 0 || engine.tokens_in_flight !== 0)
    .map((engine) => `${engine.id} has ${engine.open_calls} calls and ${engine.tokens_in_flight} tokens of nobody`);
