/** An instant for people, to the minute in UTC; a dash where there is none. */
export const toInstantCell = (instant: string | null): string =>
  instant === null ? '-' : `${instant.slice(0, 16).replace('T', ' ')}Z`;
