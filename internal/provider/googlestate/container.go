// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import "cloud.google.com/go/run/apiv2/runpb"

func (o *object) container() *runpb.Container {
	c := &runpb.Container{
		Name: o.text("name"), Image: o.text("image"), Command: o.texts("command"), Args: o.texts("args"),
		WorkingDir: o.text("working_dir"), DependsOn: o.texts("depends_on"),
	}
	o.each("env", func(e *object) { c.Env = append(c.Env, e.variable()) })
	o.one("resources", func(r *object) { c.Resources = &runpb.ResourceRequirements{Limits: r.textMap("limits")} })
	o.each("ports", func(p *object) {
		c.Ports = append(c.Ports, &runpb.ContainerPort{Name: p.text("name"), ContainerPort: p.count("container_port")})
	})
	o.each("volume_mounts", func(m *object) {
		c.VolumeMounts = append(c.VolumeMounts, &runpb.VolumeMount{Name: m.text("name"), MountPath: m.text("mount_path"), SubPath: m.text("sub_path")})
	})
	o.one("startup_probe", func(p *object) { c.StartupProbe = p.probe() })
	o.one("liveness_probe", func(p *object) { c.LivenessProbe = p.probe() })
	return c
}

func (o *object) variable() *runpb.EnvVar {
	e := &runpb.EnvVar{Name: o.text("name"), Values: &runpb.EnvVar_Value{Value: o.text("value")}}
	o.one("value_source", func(s *object) {
		s.one("secret_key_ref", func(r *object) {
			e.Values = &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{
				SecretKeyRef: &runpb.SecretKeySelector{Secret: r.text("secret"), Version: r.text("version")},
			}}
		})
	})
	return e
}

func (o *object) probe() *runpb.Probe {
	p := &runpb.Probe{
		InitialDelaySeconds: o.count("initial_delay_seconds"), TimeoutSeconds: o.count("timeout_seconds"),
		PeriodSeconds: o.count("period_seconds"), FailureThreshold: o.count("failure_threshold"),
	}
	o.one("http_get", func(g *object) {
		get := &runpb.HTTPGetAction{Path: g.text("path"), Port: g.count("port")}
		g.each("http_headers", func(h *object) {
			get.HttpHeaders = append(get.HttpHeaders, &runpb.HTTPHeader{Name: h.text("name"), Value: h.text("value")})
		})
		p.ProbeType = &runpb.Probe_HttpGet{HttpGet: get}
	})
	o.one("tcp_socket", func(s *object) {
		p.ProbeType = &runpb.Probe_TcpSocket{TcpSocket: &runpb.TCPSocketAction{Port: s.count("port")}}
	})
	o.one("grpc", func(g *object) {
		p.ProbeType = &runpb.Probe_Grpc{Grpc: &runpb.GRPCAction{Port: g.count("port"), Service: g.text("service")}}
	})
	return p
}

func (o *object) volume() *runpb.Volume {
	v := &runpb.Volume{Name: o.text("name")}
	o.one("gcs", func(g *object) {
		v.VolumeType = &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: g.text("bucket"), ReadOnly: g.is("read_only"), MountOptions: g.texts("mount_options")}}
	})
	o.one("secret", func(s *object) {
		secret := &runpb.SecretVolumeSource{Secret: s.text("secret"), DefaultMode: s.count("default_mode")}
		s.each("items", func(i *object) {
			secret.Items = append(secret.Items, &runpb.VersionToPath{Path: i.text("path"), Version: i.text("version"), Mode: i.count("mode")})
		})
		v.VolumeType = &runpb.Volume_Secret{Secret: secret}
	})
	o.one("empty_dir", func(d *object) {
		v.VolumeType = &runpb.Volume_EmptyDir{EmptyDir: &runpb.EmptyDirVolumeSource{
			Medium: runpb.EmptyDirVolumeSource_Medium(d.enum("medium", runpb.EmptyDirVolumeSource_Medium_value)), SizeLimit: d.text("size_limit"),
		}}
	})
	o.one("nfs", func(n *object) {
		v.VolumeType = &runpb.Volume_Nfs{Nfs: &runpb.NFSVolumeSource{Server: n.text("server"), Path: n.text("path"), ReadOnly: n.is("read_only")}}
	})
	o.one("cloud_sql_instance", func(s *object) {
		v.VolumeType = &runpb.Volume_CloudSqlInstance{CloudSqlInstance: &runpb.CloudSqlInstance{Instances: s.texts("instances")}}
	})
	return v
}
