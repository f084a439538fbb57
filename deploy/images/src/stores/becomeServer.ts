/** Goes on as another program, under the same process id: signals reach it, and its end is the container's. */
export function becomeServer(program: string, args: string[]): void {
  if (process.execve === undefined) throw new Error('This system cannot replace a process by another.');
  process.execve(program, [program, ...args], process.env as Record<string, string>);
}
