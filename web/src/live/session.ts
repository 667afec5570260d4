// Session: whether that of this browser is over.

import { apiURL } from "../api";

/** Whether the session has ended. It is asked as for a page: a browser would ask for a password otherwise. */
export async function sessionHasEnded(): Promise<boolean> {
  try {
    const answer = await fetch(apiURL("v1/session"), { headers: { Accept: "text/html" } });
    await answer.body?.cancel();
    return answer.status === 401;
  } catch {
    return false; // without a server nothing is known
  }
}
