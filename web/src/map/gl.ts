// Pass: one WebGL2 program with its own vertex buffer of interleaved 32-bit floats.

export class Pass {
  readonly #gl: WebGL2RenderingContext;
  readonly #program: WebGLProgram;
  readonly #buffer: WebGLBuffer;
  readonly #array: WebGLVertexArrayObject;
  readonly #uniforms = new Map<string, WebGLUniformLocation | null>();
  #capacity = 0;

  /** sizes are the numbers of floats of the attributes at location 0, 1, ... */
  constructor(gl: WebGL2RenderingContext, vertex: string, fragment: string, sizes: number[]) {
    this.#gl = gl;
    this.#program = link(gl, vertex, fragment);
    this.#buffer = gl.createBuffer();
    this.#array = gl.createVertexArray();
    gl.bindVertexArray(this.#array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    const stride = sizes.reduce((sum, size) => sum + size, 0) * 4;
    let offset = 0;
    for (const [location, size] of sizes.entries()) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
      offset += size * 4;
    }
    gl.bindVertexArray(null);
  }

  /** Copies the first `floats` values to the graphics card. */
  upload(data: Float32Array, floats: number): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    if (data.byteLength > this.#capacity) {
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      this.#capacity = data.byteLength;
    } else {
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, data, 0, floats);
    }
  }

  use(): void {
    this.#gl.useProgram(this.#program);
    this.#gl.bindVertexArray(this.#array);
  }

  at(uniform: string): WebGLUniformLocation | null {
    let location = this.#uniforms.get(uniform);
    if (location === undefined) {
      location = this.#gl.getUniformLocation(this.#program, uniform);
      this.#uniforms.set(uniform, location);
    }
    return location;
  }
}

function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(type);
    if (!shader) throw new Error("the WebGL context is lost");
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`shader: ${gl.getShaderInfoLog(shader) ?? "unknown fault"}`);
    }
  }
  gl.linkProgram(program);
  return program;
}
