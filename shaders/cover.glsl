// Before every fragment shader: edges one pixel soft. Colours go out with alpha multiplied in.
precision highp float;
precision highp int;
layout(location = 0) out vec4 colour;

// How much of a pixel lies inside an edge whose distance is `away`, pixels, below 0 inside.
float covered(float away) { return clamp(0.5 - away, 0.0, 1.0); }

// Distance from p to a box with round corners, pixels, below 0 inside.
float outside(vec2 p, vec4 box, float radius) {
    vec2 reach = abs(box.zw - box.xy) * 0.5;
    radius = min(radius, min(reach.x, reach.y));
    vec2 d = abs(p - (box.xy + box.zw) * 0.5) - reach + radius;
    return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0) - radius;
}

vec4 over(vec4 top, float cover, vec4 under) {
    float alpha = top.a * cover;
    return vec4(top.rgb * alpha, alpha) + under * (1.0 - alpha);
}
