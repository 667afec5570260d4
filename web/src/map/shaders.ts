// The overlay's three small programs, GLSL ES 3.00. Positions come out of each in clip space; colours are premultiplied.

const toClip = `
vec4 toClip(vec2 px, vec2 viewport) {
  return vec4(px.x / viewport.x * 2.0 - 1.0, 1.0 - px.y / viewport.y * 2.0, 0.0, 1.0);
}`;

/** Objects: one point sprite each. A moving one with a heading is an arrow, any other a dot, a silent one a ring. */
export const objectVertex = `#version 300 es
precision highp float;
layout(location = 0) in vec4 a_path;   // from, to: Mercator relative to the origin
layout(location = 1) in vec4 a_look;   // start, duration (s); heading (rad, < 0 unknown); state
layout(location = 2) in float a_tint;  // of the palette; < 0: by state
uniform vec2 u_viewport;  // device pixels
uniform vec2 u_offset;    // of the origin, device pixels
uniform float u_scale;    // device pixels for the width of the world
uniform float u_now;      // seconds
uniform float u_size;     // diameter of an arrow, device pixels
out float v_heading;
out float v_size;
flat out int v_state;
flat out int v_arrow;
flat out int v_tint;
${toClip}
void main() {
  float share = a_look.y > 0.0 ? clamp((u_now - a_look.x) / a_look.y, 0.0, 1.0) : 1.0;
  vec2 place = mix(a_path.xy, a_path.zw, share);
  gl_Position = toClip(place * u_scale + u_offset, u_viewport);
  v_state = int(a_look.w + 0.5);
  v_tint = int(floor(a_tint + 0.5));
  v_heading = a_look.z;
  v_arrow = v_state == 0 && v_heading >= 0.0 ? 1 : 0;
  // A margin of 3 pixels holds the outline and the soft edge.
  v_size = u_size * (v_arrow == 1 ? 1.0 : v_state == 2 ? 0.8 : 0.62) + 6.0;
  gl_PointSize = v_size;
}`;

export const objectFragment = `#version 300 es
precision highp float;
in float v_heading;
in float v_size;
flat in int v_state;
flat in int v_arrow;
flat in int v_tint;
uniform vec3 u_colours[4];
uniform vec3 u_palette[6];
uniform vec3 u_outline;
uniform float u_outlineWidth;
out vec4 colour;

// Signed distance to the arrow: tip, right wing, notch, left wing.
float arrow(vec2 p, float r) {
  vec2 v[4] = vec2[4](vec2(0.0, -1.0), vec2(0.68, 0.82), vec2(0.0, 0.46), vec2(-0.68, 0.82));
  float d = 1e9;
  float side = 1.0;
  for (int i = 0, j = 3; i < 4; j = i, i++) {
    vec2 a = v[i] * r, b = v[j] * r;
    vec2 e = b - a, w = p - a;
    vec2 t = w - e * clamp(dot(w, e) / dot(e, e), 0.0, 1.0);
    d = min(d, dot(t, t));
    bvec3 c = bvec3(p.y >= a.y, p.y < b.y, e.x * w.y > e.y * w.x);
    if (all(c) || all(not(c))) side = -side;
  }
  return side * sqrt(d);
}

void main() {
  vec2 p = (gl_PointCoord - 0.5) * v_size;
  float r = v_size * 0.5 - 3.0;
  float d;
  if (v_arrow == 1) {
    float s = sin(v_heading), c = cos(v_heading);
    d = arrow(vec2(c * p.x + s * p.y, -s * p.x + c * p.y), r);
  } else if (v_state == 2) {
    float w = max(1.6, r * 0.36);
    d = abs(length(p) - r + w * 0.5) - w * 0.5;
  } else {
    d = length(p) - r;
  }
  float inside = clamp(0.5 - d, 0.0, 1.0);
  float around = clamp(0.5 - d + u_outlineWidth, 0.0, 1.0) * 0.9;
  float alpha = max(inside, around);
  if (alpha <= 0.0) discard;
  vec3 own = v_tint < 0 || v_state == 2 ? u_colours[v_state] : u_palette[v_tint];
  colour = vec4(mix(u_outline, own, inside) * alpha, alpha);
}`;

/** Rings: halos of the selection, pulses where something happened. */
export const ringVertex = `#version 300 es
precision highp float;
layout(location = 0) in vec4 a_ring;    // centre, radius, width: device pixels
layout(location = 1) in vec4 a_colour;  // premultiplied
uniform vec2 u_viewport;
out vec4 v_colour;
out vec3 v_ring;
${toClip}
void main() {
  gl_Position = toClip(a_ring.xy, u_viewport);
  gl_PointSize = (a_ring.z + a_ring.w + 1.0) * 2.0;
  v_ring = vec3(a_ring.z, a_ring.w, gl_PointSize);
  v_colour = a_colour;
}`;

export const ringFragment = `#version 300 es
precision highp float;
in vec4 v_colour;
in vec3 v_ring;
out vec4 colour;
void main() {
  float d = abs(length((gl_PointCoord - 0.5) * v_ring.z) - v_ring.x) - v_ring.y * 0.5;
  colour = v_colour * clamp(0.5 - d, 0.0, 1.0);
}`;

/** A strip of triangles with a colour at each corner: the trail. */
export const stripVertex = `#version 300 es
precision highp float;
layout(location = 0) in vec2 a_place;   // device pixels
layout(location = 1) in vec4 a_colour;  // premultiplied
uniform vec2 u_viewport;
out vec4 v_colour;
${toClip}
void main() {
  gl_Position = toClip(a_place, u_viewport);
  v_colour = a_colour;
}`;

export const stripFragment = `#version 300 es
precision highp float;
in vec4 v_colour;
out vec4 colour;
void main() { colour = v_colour; }`;
