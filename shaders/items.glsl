// Before every vertex shader: one item of a look, four corners each (triangle strip, app/gui/window/looks.h).
precision highp float;
precision highp int;
layout(location = 0) in vec4 place;  // pixels: left, top, right, bottom; a dash's piece of path: from, to
layout(location = 1) in vec4 shape;
layout(location = 2) in vec4 more;
layout(location = 3) in vec4 fill;  // colours 0 to 1, alpha not multiplied in
layout(location = 4) in vec4 stroke;
layout(location = 5) in vec4 hatch;
layout(location = 6) in uint first;  // where its numbers begin in the table
uniform vec4 screen;                 // pixels: left, top, width, height of all that is drawn

vec2 corner() { return vec2(gl_VertexID & 1, gl_VertexID >> 1); }

vec4 on_screen(vec2 p) {
    vec2 share = (p - screen.xy) / screen.zw * 2.0 - 1.0;
    return vec4(share.x, -share.y, 0.0, 1.0);
}
