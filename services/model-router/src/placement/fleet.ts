import type { PricedModel } from '../catalog/catalog.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import type { CallNews, EngineRegistry } from '../engines/engineRegistry.ts';
import type { AttemptResult } from '../engines/terms/attempt.ts';
import type { EngineChoice, EngineQueue, QueueableCall, Turn } from './engineQueue.ts';

/** A call that wants an engine. */
export interface FleetCall extends QueueableCall {
  model: PricedModel;
  /** Who pays for it: what one workspace's calls do is no proof against an engine. */
  workspaceId: string;
  /** The engines that may have its next attempt, of those that are able. */
  chooseFrom(able: readonly Engine[]): readonly Engine[];
  /** Whether it may leave an engine that does not answer for another of those that are able. */
  mayLeave(engine: Engine, able: readonly Engine[]): boolean;
}

/** The region's engines as calls use them. */
export interface Fleet
  extends Pick<EngineRegistry, 'findEngines' | 'isConfigured' | 'fitWindow' | 'retries'>,
    Pick<EngineQueue, 'checkRoom'> {
  /**
   * Gives a call an engine as soon as it has its turn. Whoever then exchanges bytes with the engine tells the attempt what
   * happens: load, room and health hear of it there, and so may others. A call that its engine refused as it is full comes
   * again, and says since when, by `performance.now()`: it waits no longer than that allows.
   */
  send(call: FleetCall, sinceMs?: number): Promise<Turn<Engine>>;
  /** Gives a call another engine that was failed by the one it had: it does not wait again. */
  sendAgain(call: FleetCall): Turn<Engine>;
}

/** Makes a fleet of the engines that a registry looks after and the queue before them. */
export function createFleet({ registry, queue }: { registry: EngineRegistry; queue: EngineQueue }): Fleet {
  function choiceOf(call: FleetCall): EngineChoice<Engine> {
    const { model, workspaceId, placement } = call;
    const findAble = () =>
      registry.findEngines(model).filter((engine) => engine.isHealthy && servedNameOf(engine, model) !== undefined);
    return {
      findEngines: () => call.chooseFrom(findAble()),
      onPlaced(attempt) {
        const { engine } = attempt;
        const unheard = {
          isStream: placement.isStream,
          leave() {
            if (call.mayLeave(engine, findAble())) attempt.leave();
          },
        };
        const heard = engine.unheardCalls.add(unheard);
        attempt.subscribe({
          firstEvent() {
            heard();
            engine.room.sayBegun();
          },
          end(result) {
            heard();
            if (result.kind === 'answered') engine.room.sayBegun();
            if (result.kind === 'failed' && result.fault.kind === 'engine_busy') engine.room.sayBusy();
            const news = toNews(result, workspaceId);
            if (news) registry.report(engine, news);
          },
        });
      },
    };
  }

  const { findEngines, isConfigured, fitWindow, retries } = registry;
  return {
    findEngines,
    isConfigured,
    fitWindow,
    retries,
    checkRoom: queue.checkRoom,
    send: (call, sinceMs) => queue.place({ ...call, sinceMs }, choiceOf(call)),
    sendAgain: (call) => queue.placeAgain(call.placement, choiceOf(call)),
  };
}

/** What the result of an attempt says of its engine; undefined where it may not be the engine's doing: a client's mistake never is. */
function toNews(result: AttemptResult, workspaceId: string): CallNews | undefined {
  if (result.kind === 'dropped') return undefined;
  if (result.kind === 'answered') return { kind: 'completed', workspaceId };
  const { fault, broken, isFinal } = result;
  switch (broken) {
    // The fleet knows: it is why the call left.
    case 'left_out':
      return undefined;
    case 'refused':
      return { kind: 'refused' };
    case 'unreached':
      return { kind: 'unreached' };
    case 'timeout':
      return { kind: 'silent' };
    case undefined:
      return fault.kind === 'engine_failed' && !isFinal ? { kind: 'failed', workspaceId } : undefined;
    default:
      return { kind: 'failed', workspaceId };
  }
}
