import { type Session, Standing } from '../src/redis/standing.ts';

/** A session that does not lapse, in which calls are admitted. */
export function anOpenStanding(session: Session): Standing {
  const standing = new Standing();
  standing.begin(session, Number.POSITIVE_INFINITY);
  standing.open();
  return standing;
}
