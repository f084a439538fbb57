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
 * What a counter grew by within so long, where it did; also of one that is there from its first count on, of which `increase`
 * sees nothing. Of a process that was started again it says nothing until that has counted more than the one before.
 */
export const grew = (counter: string, within: string): string =>
  `${counter} - (${counter} offset ${within} or ${counter} * 0) > 0`;
