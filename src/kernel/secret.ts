/**
 * A value that must not be seen: it prints as `[secret]` wherever something is printed by accident (logs, error
 * messages, JSON, the inspector). It refuses to be anything else until somebody asks for it by name.
 */
import { inspect } from 'node:util'

const shown = '[secret]'

export class Secret<Value> {
  readonly #value: Value

  constructor(value: Value) {
    this.#value = value
  }

  /** The value itself: to be handed on at once, never kept in anything that is printed. */
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
