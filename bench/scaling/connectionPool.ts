/** Pods behind a Service: a connection goes to one of them by chance, as kube-proxy has it, and stays there. */
export class PodGroup {
  /** Which run of a pod takes connections; none while it is replaced. */
  readonly #runs: (number | undefined)[];
  readonly #random: () => number;
  #taking: number[];

  constructor(pods: number, random: () => number) {
    this.#runs = Array.from({ length: pods }, () => 0);
    this.#taking = this.#runs.map((_, pod) => pod);
    this.#random = random;
  }

  connect(): Connection {
    const pod = this.#taking[Math.floor(this.#random() * this.#taking.length)] as number;
    return { pod, run: this.#runs[pod] as number, idleSince: 0 };
  }

  /** A pod takes nothing new, and lets its idle connections go. */
  leave(pod: number): void {
    this.#runs[pod] = undefined;
    this.#taking = this.#taking.filter((each) => each !== pod);
  }

  /** Another pod in its place, without a connection. */
  join(pod: number, run: number): void {
    this.#runs[pod] = run;
    this.#taking.push(pod);
  }

  isOpen({ pod, run }: Connection): boolean {
    return this.#runs[pod] === run;
  }
}

export interface Connection {
  pod: number;
  run: number;
  idleSince: number;
}

/** The connections of one client, or of one edge, as `UpstreamConnections` keeps them: the one used last is taken first. */
export class ConnectionPool {
  readonly #group: PodGroup;
  readonly #idleSeconds: number;
  readonly #idle: Connection[] = [];

  constructor(group: PodGroup, idleSeconds: number) {
    this.#group = group;
    this.#idleSeconds = idleSeconds;
  }

  take(now: number): Connection {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop())
      if (now - connection.idleSince < this.#idleSeconds && this.#group.isOpen(connection)) return connection;
    return this.#group.connect();
  }

  release(connection: Connection, now: number): void {
    connection.idleSince = now;
    this.#idle.push(connection);
  }
}
