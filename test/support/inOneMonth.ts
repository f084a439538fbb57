const monthNow = (): string => new Date().toISOString().slice(0, 'YYYY-MM'.length);

/**
 * What an attempt comes to whose steps all lie in one calendar month (UTC). A month may end while it runs; it runs once more
 * then, from its beginning, so it must make all that it needs.
 */
export async function inOneMonth<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const before = monthNow();
  const result = await attempt();
  return monthNow() === before ? result : attempt();
}
