import { type Session, SessionState } from '../src/redis/sessionState.ts';

/** A session that does not lapse, in which calls are admitted. */
export function anOpenSessionState(session: Session): SessionState {
  const sessionState = new SessionState();
  sessionState.begin(session, Number.POSITIVE_INFINITY);
  sessionState.open();
  return sessionState;
}
