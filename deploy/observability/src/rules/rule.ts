/** `page`: a person has to look now. `ticket`: within a working day. */
export type Severity = 'page' | 'ticket';

/** A series that Prometheus computes and keeps under a name of its own. */
export interface Recording {
  record: string;
  expr: string;
}

export interface Alert {
  /** The entry of docs/operations.md that says what to do has this name. */
  alert: string;
  expr: string;
  /** How long it has to hold; at once where that is not said. */
  for?: string;
  severity: Severity;
  /** One sentence of what is wrong, with Prometheus' templates. */
  summary: string;
}

/** A file of rules, of one group. */
export interface RuleFile {
  /** Of the file and, after `turnpike-`, of the group. */
  name: string;
  rules: (Recording | Alert)[];
}

/**
 * A counter that grew within so long, also one that is there from its first count on, of which `increase` sees nothing. A process that
 * starts anew counts from 0, so that what it had counted before is not counted against it.
 */
export const grew = (counter: string, within: string): string =>
  `${counter} - (${counter} offset ${within} or ${counter} * 0) > 0`;
