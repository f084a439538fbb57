/** An item of the queue. */
export interface Waiting {
  /** The flow whose share the item uses. */
  readonly flow: string;
  /** Cost of the turn for the flow, in tokens. Above 0. */
  readonly cost: number;
  /** Memory that the item holds while it waits. */
  readonly bytes: number;
}

interface Line<Item> {
  /**
   * Start tag of the flow's first or next item: all cost given to the flow, on the scale of `#virtual` and never below
   * it.
   */
  start: number;
  readonly items: Set<Item>;
  cost: number;
  bytes: number;
}

/** The queue of one flow, or of all. */
export interface Backlog {
  readonly calls: number;
  readonly bytes: number;
  readonly cost: number;
}

const NOTHING: Backlog = { calls: 0, bytes: 0, cost: 0 };
const NONE: ReadonlySet<string> = new Set();

/**
 * Start-time fair queueing. The next turn goes to the flow that was given the least cost; within a flow the order is by
 * arrival. Of two flows with waiting items, neither gets more than one item's cost beyond the other. All flows have
 * equal weight. A flow that had nothing waiting begins at the others' level, so flows cannot save turns. An item that
 * leaves without a turn costs its flow nothing.
 */
export class FairQueue<Item extends Waiting> {
  readonly #lines = new Map<string, Line<Item>>();
  /** Start tag of the last turn. */
  #virtual = 0;
  #calls = 0;
  #bytes = 0;
  #cost = 0;

  get backlog(): Backlog {
    return { calls: this.#calls, bytes: this.#bytes, cost: this.#cost };
  }

  backlogOf(flow: string): Backlog {
    const line = this.#lines.get(flow);
    return line ? toBacklog(line) : NOTHING;
  }

  /** Iterates over the queues of all flows. */
  *backlogs(): Iterable<{ flow: string; backlog: Backlog }> {
    for (const [flow, line] of this.#lines) if (line.items.size > 0) yield { flow, backlog: toBacklog(line) };
  }

  add(item: Item): void {
    this.#getLine(item.flow).items.add(item);
    this.#count(this.#getLine(item.flow), item, 1);
  }

  /** Adds an item before all others of its flow, because its turn failed. */
  addFirst(item: Item): void {
    const { items } = this.#getLine(item.flow);
    const others = [...items];
    items.clear();
    for (const each of [item, ...others]) items.add(each);
    this.#count(this.#getLine(item.flow), item, 1);
  }

  #getLine(flow: string): Line<Item> {
    const line = this.#lines.get(flow) ?? { start: this.#virtual, items: new Set(), cost: 0, bytes: 0 };
    this.#lines.set(flow, line);
    return line;
  }

  /** Returns the item with the next turn, apart from the flows in `passing`. */
  peek(passing: ReadonlySet<string> = NONE): Item | undefined {
    const [first] = this.#firstLine(passing)?.items ?? [];
    return first;
  }

  /** Takes the item with the next turn. The flows in `passing` save no turns by being skipped. */
  take(passing: ReadonlySet<string> = NONE): Item | undefined {
    const line = this.#firstLine(passing);
    const [first] = line?.items ?? [];
    if (!line || !first) return undefined;
    this.#virtual = Math.max(this.#virtual, line.start);
    line.start += first.cost;
    for (const flow of passing) this.#catchUp(flow);
    this.#drop(line, first);
    return first;
  }

  /** Removes an item that had no turn. Returns false if it was not waiting. */
  remove(item: Item): boolean {
    const line = this.#lines.get(item.flow);
    if (!line?.items.has(item)) return false;
    this.#drop(line, item);
    return true;
  }

  /** Returns the newest item of a flow. */
  newestOf(flow: string): Item | undefined {
    return [...(this.#lines.get(flow)?.items ?? [])].at(-1);
  }

  /** The cost of all that would have its turn before something that this flow adds now, where these flows let theirs pass. */
  costAhead(flow: string, passing: ReadonlySet<string> = NONE): number {
    const own = this.#lines.get(flow);
    const start = (own?.start ?? this.#virtual) + (own?.cost ?? 0);
    let ahead = 0;
    for (const [other, line] of this.#lines)
      if (line === own) ahead += line.cost;
      else if (!passing.has(other)) ahead += Math.min(line.cost, Math.max(0, start - line.start));
    return ahead;
  }

  #firstLine(passing: ReadonlySet<string>): Line<Item> | undefined {
    let first: Line<Item> | undefined;
    for (const [flow, line] of this.#lines)
      if (line.items.size > 0 && !passing.has(flow) && (first === undefined || line.start < first.start)) first = line;
    return first;
  }

  #catchUp(flow: string): void {
    const line = this.#lines.get(flow);
    if (line) line.start = Math.max(line.start, this.#virtual);
  }

  #drop(line: Line<Item>, item: Item): void {
    line.items.delete(item);
    this.#count(line, item, -1);
    // A flow without a queue is owed nothing. Elsewhere only flows that were given more than the turn just now are owed
    // something.
    for (const [flow, { items, start }] of this.#lines)
      if (this.#calls === 0 || (items.size === 0 && start <= this.#virtual)) this.#lines.delete(flow);
  }

  #count(line: Line<Item>, { cost, bytes }: Item, sign: 1 | -1): void {
    line.cost += sign * cost;
    line.bytes += sign * bytes;
    this.#bytes += sign * bytes;
    this.#cost += sign * cost;
    this.#calls += sign;
  }
}

const toBacklog = ({ items, bytes, cost }: Line<unknown>): Backlog => ({ calls: items.size, bytes, cost });
