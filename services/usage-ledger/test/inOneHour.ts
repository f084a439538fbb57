const hourNow = (): number => Math.floor(Date.now() / 3_600_000);

/**
 * Returns the result of an attempt whose steps are all in one hour. If an hour ends meanwhile, the attempt runs once
 * more, so it has to create everything that it needs.
 */
export async function inOneHour<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const before = hourNow();
  const result = await attempt();
  return hourNow() === before ? result : attempt();
}
