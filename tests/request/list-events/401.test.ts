/** Requests without a key, or with an invalid one. */
import { promiseRefusedStrangers } from '../cases/strangers.ts'

promiseRefusedStrangers('list_events')
