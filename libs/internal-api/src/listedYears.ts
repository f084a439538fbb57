/** Says whether an instant has a year that Postgres and JavaScript write with four digits in every time zone, with the words for others. */
export const LISTED_YEARS = [(text: string) => /^2\d{3}-/.test(text), 'must be of the years 2000 to 2999'] as const;
