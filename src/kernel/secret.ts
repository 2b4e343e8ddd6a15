/** A value that is never printed: logs, errors, JSON and inspector show `[secret]`. `reveal` returns it. */
import { inspect } from 'node:util'

const shown = '[secret]'

export class Secret<Value> {
  readonly #value: Value

  constructor(value: Value) {
    this.#value = value
  }

  /** The value itself: pass it on at once, and never keep it in anything that may be printed. */
  reveal(): Value {
    return this.#value
  }

  toString(): string {
    return shown
  }

  toJSON(): string {
    return shown
  }

  [inspect.custom](): string {
    return shown
  }
}
