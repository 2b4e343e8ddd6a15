/** Other methods, and other spellings of the path. */
import { promiseUnknown } from '../cases/unknown.ts'

promiseUnknown('list_events')
