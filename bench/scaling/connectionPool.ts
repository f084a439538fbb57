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
    return { pod, run: this.#runs[pod] as number, idleSince: 0, usedUntil: Number.POSITIVE_INFINITY };
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
  usedUntil: number;
}

export interface ConnectionPoolOptions {
  idleSeconds: number;
  /** Longest time that a connection is used, each for half of it at least. Undefined: for as long as it stands. */
  maxAgeSeconds?: number | undefined;
  random: () => number;
}

/** The connections of one client, or of one edge, as `UpstreamConnections` keeps them: the one used last is taken first. */
export class ConnectionPool {
  readonly #group: PodGroup;
  readonly #options: ConnectionPoolOptions;
  readonly #idle: Connection[] = [];

  constructor(group: PodGroup, options: ConnectionPoolOptions) {
    this.#group = group;
    this.#options = options;
  }

  take(now: number): Connection {
    const { idleSeconds, maxAgeSeconds = Number.POSITIVE_INFINITY, random } = this.#options;
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop())
      if (now - connection.idleSince < idleSeconds && now < connection.usedUntil && this.#group.isOpen(connection))
        return connection;
    const connection = this.#group.connect();
    connection.usedUntil = now + (maxAgeSeconds * (1 + random())) / 2;
    return connection;
  }

  release(connection: Connection, now: number): void {
    connection.idleSince = now;
    this.#idle.push(connection);
  }
}
