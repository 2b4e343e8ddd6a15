/** The end of work that a stopping process does not wait for. It is no failure and no bug. */
export class ProcessStopping extends DOMException {
  constructor() {
    super('the process is stopping', 'AbortError')
  }
}
