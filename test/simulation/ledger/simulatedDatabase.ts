import type { Db } from '../../../services/usage-ledger/src/database/createDb.ts';
import type { SimulatedProcess, World } from '../world/world.ts';
import {
  MODEL_QUERIES,
  type NamedStatement,
  runStatement,
  type StatementChanges,
  type StatementContext,
} from './ledgerStatements.ts';
import { LedgerTables } from './ledgerTables.ts';

interface Session {
  owner: SimulatedProcess;
  undo: (() => void)[];
  isOver: boolean;
}

/** How many commits can be lost at most. */
const LOSABLE_COMMITS = 100;

const AWAY = new Error('Connection terminated unexpectedly');

/**
 * The ledger's Postgres: one transaction at a time, each whole or not at all. It can be away, be slow, and end so that nobody
 * hears whether a transaction was committed. That rivals run one after the other is stricter than Postgres is; the
 * statements themselves are held against the real one in crossCheck.deep.test.ts.
 */
export class SimulatedDatabase {
  readonly tables = new LedgerTables();
  readonly #world: World;
  #session: Session | undefined;
  #waiting: { owner: SimulatedProcess; start: () => void }[] = [];
  /** How to undo the last commits, the latest last. */
  readonly #committed: (() => void)[][] = [];
  /** The number of the server's run, as `current_timeline()` gives it. */
  timeline = 1;
  /** How often its last commits were lost. */
  losses = 0;
  isAway = false;
  /** Longest a statement takes, ms. */
  slownessMs = 0.3;
  /** Probability that a commit is done and its answer lost. */
  lostCommits = 0;
  readonly #changes: StatementChanges;
  readonly #isBlind: boolean;

  /** `changes` make mutants of what statements do; one that is blind does not see that its server was started again. */
  constructor(world: World, changes: StatementChanges = {}, isBlind = false) {
    this.#world = world;
    this.#changes = changes;
    this.#isBlind = isBlind;
  }

  /** Whether its tables show what is not committed, and may be undone. */
  get isMidTransaction(): boolean {
    return (this.#session?.undo.length ?? 0) > 0;
  }

  /** Ends what is open, as when the server or the client dies. */
  abort(owner?: SimulatedProcess): void {
    const session = this.#session;
    if (session && (!owner || session.owner === owner)) this.#end(session, { isCommitted: false });
  }

  /** A standby takes over that lacks the last commits; returns how many it lacks. */
  failOver(lost: number): number {
    this.timeline += 1;
    return this.#lose(lost);
  }

  /** The server is started again, on a disk that lacks the last commits; returns how many it lacks. */
  startAgain(lost: number): number {
    if (!this.#isBlind) this.timeline += 1;
    return this.#lose(lost);
  }

  #lose(lost: number): number {
    this.abort();
    if (lost > 0) this.losses += 1;
    const undone = lost === 0 ? [] : this.#committed.splice(-lost);
    for (const undo of undone.toReversed()) for (const back of undo.toReversed()) back();
    return undone.length;
  }

  #begin(): Promise<Session> {
    const owner = this.#world.current;
    return new Promise((resolve) => {
      const start = (): void => {
        const session = { owner, undo: [], isOver: false };
        this.#session = session;
        this.#world.schedule(this.#delayMs(), () => resolve(session), owner);
      };
      if (this.#session) this.#waiting.push({ owner, start });
      else start();
    });
  }

  #end(session: Session, { isCommitted }: { isCommitted: boolean }): void {
    if (session.isOver) return;
    session.isOver = true;
    if (!isCommitted) for (const back of session.undo.toReversed()) back();
    else if (session.undo.length > 0) this.#committed.push(session.undo);
    if (this.#committed.length > LOSABLE_COMMITS) this.#committed.shift();
    this.#session = undefined;
    let next = this.#waiting.shift();
    while (next?.owner.isDead) next = this.#waiting.shift();
    next?.start();
  }

  #delayMs(): number {
    return this.#world.random.share() * this.slownessMs;
  }

  async #query(session: Session, query: (context: StatementContext) => unknown): Promise<unknown> {
    await this.#world.sleep(this.#delayMs());
    if (session.isOver || this.isAway) throw AWAY;
    return query({
      tables: this.tables,
      undo: session.undo,
      nowMs: Math.floor(this.#world.beganAtMs + this.#world.now),
      timeline: this.timeline,
    });
  }

  async #transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.isAway) throw AWAY;
    const session = await this.#begin();
    try {
      const result = await work(session);
      await this.#world.sleep(this.#delayMs());
      if (session.isOver || this.isAway) throw AWAY;
      this.#end(session, { isCommitted: true });
      if (this.#world.random.chance(this.lostCommits)) throw AWAY;
      return result;
    } catch (error) {
      this.#end(session, { isCommitted: false });
      throw error;
    }
  }

  #face(run: (query: (context: StatementContext) => unknown) => Promise<unknown>): object {
    const raw = (statement: NamedStatement) => run((context) => runStatement(context, statement, this.#changes));
    const models = Object.entries(MODEL_QUERIES).map(([table, operations]) => [
      table,
      Object.fromEntries(
        Object.entries(operations).map(([name, query]) => [
          name,
          (asked: never) => run((context) => query(context, asked)),
        ]),
      ),
    ]);
    return { ...Object.fromEntries(models), query: raw, execute: raw };
  }

  /** Returns it as the ledger's code knows it: with the statements that code uses, and no others. */
  asDb(): Db {
    const alone = this.#face((query) => this.#transaction((session) => this.#query(session, query)));
    const transaction = (work: (tx: object) => Promise<unknown>) =>
      this.#transaction((session) => work(this.#face((query) => this.#query(session, query))));
    return { ...alone, transaction } as unknown as Db;
  }
}
