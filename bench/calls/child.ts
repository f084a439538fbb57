import { type ChildProcess, fork } from 'node:child_process';

/** A process of the bench, which answers each message with one. */
export interface Child<Order, Report> {
  pid: number;
  /** The program's first message. */
  hello: unknown;
  ask(order: Order): Promise<Report>;
  stop(): void;
}

/** Starts a program of `processes/`. It ends with this process. */
export async function startChild<Order = never, Report = never>(
  program: string,
  env: Record<string, string> = {},
): Promise<Child<Order, Report>> {
  const child = fork(new URL(`processes/${program}.ts`, import.meta.url), {
    serialization: 'advanced',
    env: { ...process.env, ...env },
  });
  const hello = await answerOf(child, program);
  return {
    pid: child.pid ?? 0,
    hello,
    async ask(order) {
      const answer = answerOf(child, program);
      child.send(order as never);
      return (await answer) as Report;
    },
    stop: () => void child.kill('SIGKILL'),
  };
}

function answerOf(child: ChildProcess, program: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (answer: unknown): void => {
      child.off('exit', onExit);
      resolve(answer);
    };
    const onExit = (code: number | null): void => {
      child.off('message', onMessage);
      reject(new Error(`${program} ended with ${code}`));
    };
    child.once('message', onMessage).once('exit', onExit);
  });
}
