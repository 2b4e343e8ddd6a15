/** How work ends that a stopping process does not wait for: no failure of anybody, and no bug. */
export class ProcessStopping extends DOMException {
  constructor() {
    super('the process is stopping', 'AbortError')
  }
}
